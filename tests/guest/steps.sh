#!/bin/sh
# Runs each line of /out/steps in the emulated machine as a command. N.log gets what line N printed, N.json
# the results if it is a GoogleTest program, and statuses a line "N STATUS" when it has ended.
uname -r >/out/release
number=0
while IFS= read -r step; do
  number=$((number + 1))
  echo "step $number: $step"
  GTEST_OUTPUT=json:/out/$number.json sh -c "$step" </dev/null >"/out/$number.log" 2>&1
  echo "$number $?" >>/out/statuses
done </out/steps
