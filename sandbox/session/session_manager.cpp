#include "sandbox/session/session_manager.hpp"
