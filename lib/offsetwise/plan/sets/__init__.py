"""Sets of plans of several jobs, and the part of a request that concerns each job."""
