#!/bin/sh
# Compares every job of a migration, and writes what changed since the comparison that is in the repository.
#
#   nightly.sh [OPTION of `offsetwise compare` ...]
#
# MIGRATION   the migration file (migration.yaml)
# COMPARED    the folder of the comparison in the repository (compared); it is replaced where something changed
# REPORT      the Markdown to write (report.md); not there where nothing changed
#
# Exit code: 0 if every job was compared, 1 if one could not be, or nothing was.
set -eu
MIGRATION=${MIGRATION:-migration.yaml}
COMPARED=${COMPARED:-compared}
REPORT=${REPORT:-report.md}

rm -f "$REPORT"
failed=0
offsetwise compare --migration "$MIGRATION" --all --out "$COMPARED.new" "$@" || failed=$?
test -f "$COMPARED.new/summary.json" || exit 1

if test -f "$COMPARED/summary.json"; then
  changed=0
  offsetwise diff "$COMPARED" "$COMPARED.new" --rows 20 --detailed-exitcode > "$REPORT.new" || changed=$?
  case $changed in
    0) rm -rf "$REPORT.new" "$COMPARED.new"; exit "$failed" ;;
    2) ;;
    *) rm -f "$REPORT.new"; exit 1 ;;
  esac
else
  echo "The first comparison: nothing to compare it with." > "$REPORT.new"
fi
rm -rf "$COMPARED"
mv "$COMPARED.new" "$COMPARED"
mv "$REPORT.new" "$REPORT"
exit "$failed"
