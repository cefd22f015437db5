"""The analytics screen: experiments, their splits and models, and the work on them."""
