# Sourced by scripts that build for another architecture and run it under qemu-user; they have read packages.sh.
work=$PWD/build/qemu
mkdir -p "$work"

# Libraries of the foreign architecture, unpacked beside the build: nothing of them is installed.
sysroot() { # architecture
    root=$work/sysroot-$1
    [ -e "$root/.done" ] && return
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    dpkg --print-foreign-architectures | grep -qx "$1" || { $as_root dpkg --add-architecture "$1"; $as_root apt-get update -qq; }
    mkdir -p "$root/debs"
    (
        cd "$root/debs"
        for package in libprotobuf-c1 libprotobuf-c-dev libcjson1 libcjson-dev zlib1g zlib1g-dev libzip4 libzip-dev libsqlite3-0 \
            libsqlite3-dev libbz2-1.0 liblzma5 libzstd1 libssl3 libgomp1; do
            apt-get download -qq "$package:$1" 2>/dev/null || apt-get download -qq "${package}t64:$1"
        done
    )
    for deb in "$root"/debs/*.deb; do dpkg -x "$deb" "$root"; done
    touch "$root/.done"
}

cross() { # architecture, triplet, qemu; ON: with the benchmarks
    sysroot "$1"
    root=$work/sysroot-$1
    PKG_CONFIG_LIBDIR=$root/usr/lib/$2/pkgconfig:$root/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root \
        cmake -S . -B "build/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DITG_BUILD_TESTS=OFF -DCMAKE_SYSTEM_NAME=Linux \
        -DCMAKE_C_COMPILER="$2-gcc" -DCMAKE_FIND_ROOT_PATH="$root" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER \
        "-DITG_BUILD_BENCH=${4:-OFF}" -DCMAKE_SKIP_BUILD_RPATH=ON -DCMAKE_LIBRARY_ARCHITECTURE="$2" -DZLIB_ROOT="$root/usr" \
        -DCMAKE_EXE_LINKER_FLAGS="-Wl,-rpath-link,$root/usr/lib/$2 -Wl,-rpath-link,$root/lib/$2" >/dev/null
    build "build/$1"
    emulate="$3 -L /usr/$2 -E LD_LIBRARY_PATH=$root/usr/lib/$2:$root/lib/$2 -E OMP_WAIT_POLICY=passive"
    run="$emulate build/$1/intaglio"
}
