"""Offsetwise: where must each partition resume on the new cluster, and how do we know?"""
