//! Hand-written histories for the judges of init containers.
