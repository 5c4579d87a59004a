"""The leases of an application of the KCL, in its table on DynamoDB."""
