#!/bin/sh
# The pages of docs/, README.md and CHANGELOG.md as a site in build/site, by MkDocs in an environment of its own. A link or an anchor that
# leads nowhere is an error.
set -eu
cd "$(dirname "$0")/.."
source=build/site-source
mkdir -p build
[ -x build/site-env/bin/mkdocs ] || { python3 -m venv build/site-env && build/site-env/bin/pip install -q 'mkdocs>=1.6,<2'; }
rm -rf "$source"
mkdir -p "$source/bench"
cp README.md "$source/index.md"
cp CHANGELOG.md LICENSE "$source/"
cp bench/README.md "$source/bench/"
cp docs/*.md docs/*.svg "$source/"
# Pages lie beside the README there.
sed -i 's#](docs/#](#g; s#src="docs/#src="#g' "$source/index.md" "$source/CHANGELOG.md"
sed -i 's#](\.\./README\.md#](index.md#g; s#](\.\./#](#g' "$source"/*.md
sed -i 's#](\.\./docs/#](../#g; s#](\.\./README\.md#](../index.md#g' "$source/bench/README.md"
build/site-env/bin/mkdocs build --strict >build/site.log 2>&1 || { grep -E "WARNING|ERROR|Aborted" build/site.log; exit 1; }
echo "build/site: $(find build/site -name '*.html' | wc -l) pages"
