"""One file per revision, in order. A revision that was released is never changed."""
