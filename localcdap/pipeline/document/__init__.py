"""Pipeline documents of CDAP 3.2 to 6: read in every form, typed, repaired, untouched otherwise."""
