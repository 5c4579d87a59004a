"""The positions file written again: the same shape, with the new offsets."""
