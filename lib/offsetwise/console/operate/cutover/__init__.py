"""The Cutover screen: the progress of each job of a wave during a cutover."""
