#include "sandbox/direct/direct_backend.hpp"
