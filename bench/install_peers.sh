#!/bin/sh
# Environments for the packages that bench/peers.py runs beside ours, one each, outside the repository.
#
#     sh bench/install_peers.sh FOLDER [NAME ...]
#
# NAME is one of pin figaroh pybotics robotkinecal rtb (default: all).  PYTHON chooses the interpreter.  A package that
# cannot be installed is said and left out; bench/peers.py skips what is not there.
set -u
folder=${1:?"say where: sh bench/install_peers.sh FOLDER [NAME ...]"}
shift
[ $# -gt 0 ] || set -- pin figaroh pybotics robotkinecal rtb
mkdir -p "$folder"
for name in "$@"; do
    package=$name
    [ "$name" = rtb ] && package=roboticstoolbox-python
    "${PYTHON:-python3}" -m venv --clear "$folder/$name"
    if "$folder/$name/bin/python" -m pip install -q --disable-pip-version-check --no-input "$package" \
        > "$folder/$name.log" 2>&1; then
        echo "$name: installed"
    else
        echo "$name: could not be installed, see $folder/$name.log"
        rm -rf "${folder:?}/$name"
    fi
done
