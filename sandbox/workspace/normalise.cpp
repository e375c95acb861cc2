#include "sandbox/workspace/store.hpp"
