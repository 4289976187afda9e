"""What every room shares: factors, thresholding, contracts, results."""
