"""Rules about lag, over samples: signed amounts, drift, time, rates, series with gaps, alerts. Pure."""
