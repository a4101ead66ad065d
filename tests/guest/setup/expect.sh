#!/bin/sh
# expect.sh STATUS TEXT... -- COMMAND...: the command's exit status and, in what it prints, each of the texts.
status=$1
shift
texts=
while [ "$1" != -- ]; do
  texts="$texts$1
"
  shift
done
shift
"$@" >/expected 2>&1
got=$?
cat /expected
[ "$got" = "$status" ] || { echo "exit status $got, not $status: $*"; exit 1; }
printf %s "$texts" | while IFS= read -r text; do
  grep -qF -e "$text" /expected || { echo "not there: $text"; exit 1; }
done
