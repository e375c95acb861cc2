#include "sandbox/local/local_backend.hpp"
