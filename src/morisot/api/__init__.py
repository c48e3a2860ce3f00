"""What users say."""
