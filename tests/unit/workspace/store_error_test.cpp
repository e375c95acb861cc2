#include "sandbox/workspace/store.hpp"
#include "sandbox/workspace/store_error.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

using namespace berth;
using workspace::store_error;

TEST_CASE("a failure of the workspace's disk says who can do what about it")
{
    const auto says = [](int number, const char* words) {
        return store_error(number, "write").hint().find(words) != std::string::npos;
    };
    for (const int number : {ENOSPC, EDQUOT}) {
        CHECK(says(number, "delete_workspace_file makes room"));
    }
    CHECK(says(ENAMETOOLONG, "shorter path"));
    CHECK(says(EIO, "kernel's log"));
    for (const int number : {EACCES, EROFS, ENOTDIR, EINVAL}) {
        CAPTURE(number);
        CHECK(says(number, "The operator looks at the workspace's directory"));
    }
    CHECK(store_error(ENOSPC, "write").code() == ErrorCode::no_space);
    CHECK(store_error(EACCES, "write").code() == ErrorCode::permission_denied);
}

TEST_CASE("a workspace that cannot be opened says so to the operator")
{
    const tests::TemporaryDirectory directory;
    const std::string root = directory / "workspace";
    const auto store = workspace::make_directory_store(root);
    store->create("ann", "/a", 0644, true)->seal();
    // Not by its mode: that binds no root.
    const auto own = std::filesystem::directory_iterator(root)->path();
    std::filesystem::remove_all(own / "files");
    std::ofstream(own / "files").flush();
    try {
        (void)store->create("ann", "/a", 0644, true);
        FAIL("it was opened");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("open the workspace") != std::string::npos);
        CHECK(error.hint().find("The operator looks") != std::string::npos);
    }
}
