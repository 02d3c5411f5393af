# Sourced by the other scripts: need PACKAGE... installs what is missing on Debian and Ubuntu.
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

build_packages="gcc libc6-dev cmake ninja-build pkg-config protobuf-compiler protobuf-c-compiler libprotobuf-c-dev
    libcjson-dev libsqlite3-dev libzip-dev zlib1g-dev"
# libdnnl-dev: the tests cover both sets of float kernels; nothing else needs it
test_packages="g++ libcmocka-dev libdnnl-dev python3 python3-numpy"
