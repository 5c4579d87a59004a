"""The positions file printed back: the same shape, with the new offsets."""
