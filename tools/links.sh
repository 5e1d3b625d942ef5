#!/usr/bin/env bash
# Whether each link between the Markdown pages leads to a file and a heading that are there.
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/links.py" "$@"
