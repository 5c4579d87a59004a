#!/bin/sh
# Applies an approved plan, or every plan of an approved set, and verifies what was written.
#
#   apply.sh FILE [OPTION of `offsetwise apply` ...]
#
# FILE        NAME.json, a plan or a plan set; its approvals are the files NAME.approval*.json beside it
# MIGRATION   the migration file; none for a plan that only repairs
# OUTPUT      a folder inside write_roots of the migration file: copies are written to OUTPUT/NAME; none for plans without
#
# Exit code: that of the first command that fails: 3 stale, 4 not approved, 5 verification failed, 1 any other error. Of
# a set 1 where a plan is refused or fails; the others are applied.
# Run it again to continue where it stopped. Keep the plans of a set, and nothing else, in one folder with it.
set -eu
file=$1
shift
name=${file%.json}
set -- ${OUTPUT:+--output "$OUTPUT/$(basename "$name")"} "$@"
set -- ${MIGRATION:+--migration "$MIGRATION"} "$@"
several=false
if grep -q '"format": "offsetwise/plan-set"' "$file"; then
  several=true
  set -- --keep-going "$@"
fi

code=0
offsetwise apply "$file" "$@" --detailed-exitcode || code=$?
case $code in
  0 | 2) code=0 ;;
  *) exit "$code" ;;
esac

for approval in "$name".approval*.json; do
  test ! -f "$approval" || set -- "$@" --approval "$approval"
done
offsetwise apply "$file" "$@" --execute || code=$?

set -- "$name.receipt.json"
if $several; then
  # Those that were written are verified even where another plan of the set failed.
  set -- "$(dirname "$file")"/*.receipt.json
elif test "$code" -ne 0; then
  exit "$code"
fi
for receipt in "$@"; do
  test -f "$receipt" || continue  # of a set of which nothing was applied
  verified=0
  offsetwise verify "$receipt" ${MIGRATION:+--migration "$MIGRATION"} || verified=$?
  test "$code" -ne 0 || code=$verified
done
exit "$code"
