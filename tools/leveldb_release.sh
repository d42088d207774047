#!/bin/bash
# Build LevelDB's release into FOLDER, for `ssdlab kv bench --leveldb FOLDER`.
#
#     tools/leveldb_release.sh FOLDER
#
# The packages of Debian have LevelDB with its assertions and compute checksums in software. This is the
# same source package, built as its authors measure it: CMake's Release (-O2 -DNDEBUG), and checksums by
# Google's crc32c, of which Debian has no package: the one in the wheel `google-crc32c` is linked.
# Needs apt-get, dpkg-dev, cmake, a C++ compiler, libsnappy-dev and Python with pip; no root.

set -euo pipefail
[ $# = 1 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$folder/work
crc32c=google-crc32c==1.5.0
mkdir -p "$work"/{lists/partial,cache/archives/partial,sources,parts}

# The sources of packages come from where the packages come from, without touching the system's lists.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.* /etc/apt/sources.list.d/ubuntu.*; do
    [ ! -f "$file" ] || sed -E 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$file" \
        > "$work/parts/$(basename "$file")"
done
apt=(-o "Dir::Etc::sourceparts=$work/parts" -o Dir::Etc::sourcelist=/dev/null
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache")
apt-get "${apt[@]}" -qq update
(cd "$work/sources" && rm -rf leveldb-*/ && apt-get "${apt[@]}" -qq source leveldb)
source=$(echo "$work"/sources/leveldb-*/)

rm -rf "$work/wheel" && mkdir "$work/wheel"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --dest "$work" "$crc32c"
python3 -m zipfile -e "$work"/google_crc32c-*.whl "$work/wheel"
mkdir -p "$folder/lib" "$folder/include/crc32c"
cp "$work"/wheel/google_crc32c.libs/libcrc32c-*.so* "$folder/lib/"
(cd "$folder/lib" && ln -sf libcrc32c-*.so* libcrc32c.so)
cat > "$folder/include/crc32c/crc32c.h" <<'HEADER'
// What LevelDB uses of Google's crc32c.
#include <cstddef>
#include <cstdint>
namespace crc32c {
uint32_t Extend(uint32_t crc, const uint8_t* data, size_t count);
}
HEADER

cmake -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE='-O2 -DNDEBUG' \
    -DCMAKE_CXX_FLAGS="-I$folder/include" -DHAVE_CRC32C=1 -DHAVE_TCMALLOC=0 \
    -DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF > "$work/cmake.log"
cmake --build "$work/build" --target leveldb >> "$work/cmake.log"
cp "$work/build/libleveldb.a" "$folder/lib/"
cp -r "$source/include/leveldb" "$folder/include/"
echo "$folder: LevelDB's release"
