"""Reports of failures and of skipped elements to the driver."""
