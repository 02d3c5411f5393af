# Sourced by the other scripts: need PACKAGE... installs what is missing on Debian and Ubuntu; build ARGUMENTS... is cmake --build
# that shows its last line, or what failed.
need() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    echo "installing:$missing"
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -qq
    # shellcheck disable=SC2086
    $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

build() {
    log=$(mktemp)
    if ! cmake --build "$@" >"$log" 2>&1; then
        grep -A 20 '^FAILED' "$log" || cat "$log"
        exit 1
    fi
    tail -n 1 "$log"
    rm "$log"
}

build_packages="gcc libc6-dev cmake ninja-build pkg-config protobuf-compiler protobuf-c-compiler libprotobuf-c-dev
    libcjson-dev libsqlite3-dev libzip-dev zlib1g-dev libpng-dev libturbojpeg0-dev"
# libdnnl-dev: the tests cover both sets of float kernels; libhiredis-dev, libssl-dev, redis-server, openssl: workers on other machines;
# mandoc, zsh, fish: manual pages and completions are tried where they are. Nothing else needs them.
test_packages="g++ libcmocka-dev libdnnl-dev libhiredis-dev libssl-dev redis-server openssl python3 python3-numpy mandoc zsh fish"
