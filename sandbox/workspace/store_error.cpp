#include "sandbox/workspace/store_error.hpp"

#include <cerrno>

namespace berth::workspace {

Error store_error(int error, const std::string& what)
{
    if (error == ENOSPC || error == EDQUOT) {
        return errno_error(error, what,
                           "The workspace's disk is full: delete_workspace_file makes room, or the "
                           "operator does.");
    }
    if (error == ENAMETOOLONG) {
        return errno_error(error, what, "Choose a shorter path in the workspace.");
    }
    if (error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO) {
        return errno_error(error, what); // says more by itself
    }
    return errno_error(error, what,
                       "The operator looks at the workspace's directory: it must be on a disk that "
                       "works, and belong to who runs the server.");
}

Error saving_error(int error, const std::string& what)
{
    if (error != ENOENT) {
        return store_error(error, what);
    }
    return {ErrorCode::backend_error,
            what + ": it is gone; something other than berth has removed files from the "
                   "workspace's directory",
            "Nothing was saved: save again. The operator sees to it that nothing else clears up "
            "in the directory of --workspace (BERTH_WORKSPACE)."};
}

} // namespace berth::workspace
