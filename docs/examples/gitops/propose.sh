#!/bin/sh
# Opens a pull request with the new comparison and what changed, or updates the one that is open.
#
# COMPARED, REPORT   as in nightly.sh
# BRANCH             the branch of the pull request (offsetwise/nightly)
set -eu
COMPARED=${COMPARED:-compared}
REPORT=${REPORT:-report.md}
BRANCH=${BRANCH:-offsetwise/nightly}
title="Offsetwise: what changed"

git switch --quiet --force-create "$BRANCH"
git add --all -- "$COMPARED"
git commit --quiet --message "$title"
git push --quiet --force origin "$BRANCH"

# A description has at most 65,536 characters.
head -c 60000 "$REPORT" > "$REPORT.body"
if test "$(gh pr list --head "$BRANCH" --state open --json number --jq length)" = 0; then
  gh pr create --head "$BRANCH" --title "$title" --body-file "$REPORT.body"
else
  gh pr edit "$BRANCH" --body-file "$REPORT.body"
fi
rm "$REPORT.body"
