// A key comes from outside too, and becomes a part of paths.

#include "sandbox/session/host_folders.hpp"
#include "sandbox/session/key.hpp"
#include "sandbox/session/registry.hpp"
#include "sandbox/session/session_folders.hpp"
#include "tests/unit/error_of.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace berth;
using namespace std::chrono_literals;
using tests::error_of;
using tests::TemporaryDirectory;

namespace {

/// To `outside`, which is beside the state directory; as long as a key.
std::string way_out()
{
    std::string way = "../../outside";
    while (way.size() < session::key_size) {
        way.insert(6, way.size() + 1 == session::key_size ? "/" : "./");
    }
    return way;
}

std::vector<std::string> no_keys()
{
    return {"",
            ".",
            "..",
            "work",
            way_out(),
            std::string(session::key_size, 'A'),
            std::string(session::key_size, '/'),
            std::string(session::key_size + 1, 'a'),
            std::string(session::key_size - 1, 'a') + '\n'};
}

} // namespace

TEST_SUITE("session/folders")
{
    TEST_CASE("a key is so many hex digits")
    {
        REQUIRE(way_out().size() == session::key_size);
        CHECK(session::is_key(session::key_hash({"ann", "work", {}})));
        for (const auto& text : no_keys()) {
            CHECK_FALSE(session::is_key(text));
        }
    }

    TEST_CASE("what is no key names no folder, made or removed")
    {
        const TemporaryDirectory directory;
        const auto state = directory / "state";
        const session::SessionFolders folders(state);
        (void)folders.make(session::key_hash({"ann", "work", {}}));
        std::filesystem::create_directory(directory / "outside");
        for (const char* name : {"lock", "last-wanted", "last-wanted.tmp.0123"}) {
            std::ofstream(directory / (std::string("outside/") + name)) << "x";
        }
        const session::HostFolders host(state);
        const auto registry = session::make_file_registry(state);
        for (const auto& text : no_keys()) {
            CAPTURE(text);
            const auto refused = [&](const auto& action) {
                CHECK(error_of(action) == ErrorCode::backend_error);
            };
            refused([&] { (void)folders.path(text); });
            refused([&] { (void)folders.open(text); });
            refused([&] { (void)folders.make(text); });
            refused([&] { (void)host.lock(text, Deadline::after(1s)); });
            refused([&] { host.set_mark(text, "mark"); });
            refused([&] { (void)registry->lock(text, Deadline::after(1s)); });
            refused([&] { registry->erase(text); });
            CHECK(host.mark(text).empty());
            host.forget(text);
            (void)host.last_noted(text);
            registry->touch(text);
        }
        CHECK(std::filesystem::exists(directory / "outside/lock"));
        CHECK(std::filesystem::exists(directory / "outside/last-wanted"));
        CHECK(std::filesystem::exists(directory / "outside/last-wanted.tmp.0123"));
        CHECK(folders.keys([](int, const std::string&) { return true; }).size() == 1);
    }
}
