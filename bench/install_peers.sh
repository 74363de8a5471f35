#!/bin/sh
# Environments for the packages that peers.py and plan_peers.py run beside ours, one each, outside the repository.
#
#     sh bench/install_peers.sh FOLDER [NAME ...]
#
# NAME is one of pin figaroh pybotics robotkinecal rtb pymoo (default: all).  PYTHON chooses the interpreter; pymoo
# needs the one of the project.  A package that cannot be installed is said and left out; the scripts skip what is not
# there.
set -u
folder=${1:?"say where: sh bench/install_peers.sh FOLDER [NAME ...]"}
shift
[ $# -gt 0 ] || set -- pin figaroh pybotics robotkinecal rtb pymoo
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
