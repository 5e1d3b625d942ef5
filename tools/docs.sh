#!/usr/bin/env bash
# The site of the pages and of the reference, in build/docs. Warnings are errors.
#
#     tools/docs.sh              makes the site, and looks whether it is whole
#     tools/docs.sh --diagrams   draws docs/diagrams/*.svg anew from their sources
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1-} in
    '') ;;
    --diagrams) exec python3 tools/docs/draw.py ;;
    *)
        echo "docs: unknown option '$1'; there is --diagrams" >&2
        exit 1
        ;;
esac

# quietly COMMAND...: what it says is shown only when it fails.
quietly() {
    local output
    if ! output=$("$@" 2>&1); then
        printf '%s\n' "failed: $*" "$output" >&2
        return 1
    fi
}

python3 tools/docs/draw.py --check
python3 tools/links.py
rm -rf build/reference build/docs
mkdir -p build/reference
quietly doxygen tools/docs/Doxyfile
# Debian's MkDocs belongs to Debian's Python.
quietly /usr/bin/python3 -m mkdocs build --strict
rm build/docs/404.html # whose links begin at the root of a server
cp -r build/reference/html build/docs/reference
/usr/bin/python3 tools/docs/check_site.py build/docs
echo "build/docs/index.html"
