"""What a plan has to have so that `apply` can make its proofs again."""
