#!/usr/bin/env bash
# Build SOFA v25.06 with SofaPython3, SoftRobots and SoftRobots.Inverse, without windows.
#
#     tests/sofa/build_sofa.sh FOLDER       about two hours on two cores; 1 GB
#     export SOFA_ROOT=FOLDER/build; make test-sofa
#
# Sources are cloned into FOLDER; what lies there already is kept, so a build that was interrupted
# goes on. PYTHON is the Python that SofaPython3 is built for: the project's .venv, or $PYTHON.
# On Debian and Ubuntu it needs:
#     apt-get install git g++ cmake ninja-build libboost-all-dev libeigen3-dev libtinyxml2-dev \
#         libmetis-dev libcxxopts-dev nlohmann-json3-dev libqhull-dev libpng-dev zlib1g-dev libgtest-dev
set -euo pipefail

if [ $# -ne 1 ]; then
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    exit 2
fi
project=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$project/.venv/bin/python}
hosts=${SOFA_SOURCES:-https://github.com}  # or a folder with copies of the repositories
mkdir -p "$1" && cd "$1"

get() {  # repository, tag
    local name=${1##*/}
    test -d "$name" || git clone --quiet --depth 1 --branch "$2" "$hosts/$1" "$name"
}
get sofa-framework/sofa v25.06.00
get sofa-framework/SofaPython3 release-v25.06
get SofaDefrost/SoftRobots release-v25.06
get SofaDefrost/SoftRobots.Inverse release-v25.06

# SofaPython3 v25.06 ends its process when Data are set through pybind11 3.
"$python" -m venv tools
tools/bin/pip install --quiet "pybind11<3" numpy

# Eight files are compiled as one where that works: half the time.
echo "set(CMAKE_UNITY_BUILD ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)" >together.cmake
echo "set(CMAKE_UNITY_BUILD OFF)" >apart.cmake

here=$PWD
cmake -S sofa -B build -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_FLAGS_RELEASE=-O2 \
    -D CMAKE_PROJECT_Sofa.Component_INCLUDE="$here/together.cmake" \
    -D CMAKE_PROJECT_Sofa.Component.LinearSolver.Iterative_INCLUDE="$here/apart.cmake" \
    -D CMAKE_PROJECT_SoftRobots.Inverse_INCLUDE="$here/together.cmake" \
    -D SOFA_WITH_OPENGL=OFF -D LIBRARY_SOFA_GUI=OFF -D SOFAGUI_QT=OFF -D SOFA_BUILD_TESTS=OFF \
    -D SOFA_ALLOW_FETCH_DEPENDENCIES=OFF -D PLUGIN_SOFA_GUI_BATCH=ON -D PLUGIN_MULTITHREADING=ON \
    -D SOFA_EXTERNAL_DIRECTORIES="$here/SofaPython3;$here/SoftRobots;$here/SoftRobots.Inverse" \
    -D PLUGIN_SOFAPYTHON3=ON -D PLUGIN_SOFTROBOTS=ON -D PLUGIN_SOFTROBOTS_INVERSE=ON \
    -D Python_EXECUTABLE="$python" -D pybind11_DIR="$(tools/bin/python -m pybind11 --cmakedir)"

# Everything but the Python binding of SoftRobots.Inverse's solver, which asks for OpenGL.
bindings=$(ninja -C build -t targets all | grep -oE '^Bindings\.[A-Za-z0-9.]+: phony' | cut -d: -f1)
ninja -C build runSofa Sofa.Component Sofa.Component.Mapping.MappedMatrix Sofa.GUI.Batch \
    MultiThreading SoftRobots SoftRobots.Inverse $bindings
echo "SOFA_ROOT=$here/build"
