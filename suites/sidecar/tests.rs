//! Hand-written histories for the judges of sidecars.
