"""What a plan must contain so that `apply` can repeat its proofs."""
