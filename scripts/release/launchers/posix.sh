#!/bin/sh
# Starts Drover's command line with the Node.js of this machine; DROVER_NODE names another one.
set -eu
self=$0
# It may have been called by a link, as kubectl's plugins are.
while [ -h "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=$(dirname "$self")/$link ;;
  esac
done
here=$(CDPATH='' cd "$(dirname "$self")" && pwd -P)
node=${DROVER_NODE:-node}
if ! command -v "$node" >/dev/null 2>&1; then
  echo "error: there is no Node.js ($node); install 20.19 or newer, or name one with DROVER_NODE" >&2
  exit 3
fi
exec "$node" "$here/bin/$(basename "$self").js" "$@"
