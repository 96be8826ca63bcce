"""Who is slow: pair measurements → suspects, what to measure again, confirmed faults; pure."""
