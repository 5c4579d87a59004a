"""What differs between two files of one kind: positions, findings, states, and everything else that they say."""
