#include "sandbox/base/sha256.hpp"
#include "sandbox/e2b/box_machine.hpp"
#include "sandbox/e2b/guest_install.hpp"
#include "tests/e2b_clients/stage.hpp"
#include "tests/unit/becomes_true.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

using namespace std::chrono_literals;
using berth::ErrorCode;
using berth::Sha256;
using berth::e2b::EnvdClient;
using berth::tests::becomes_true;
using berth::tests::in_time;
using berth::tests::run;
using berth::tests::Scene;
using berth::tests::Wrong;
using berth::tests::wrong_of;
using nlohmann::json;

namespace {

constexpr std::size_t megabyte = 1U << 20U;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool has_sanitizer = true;
#elif defined(__has_feature)
constexpr bool has_sanitizer = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool has_sanitizer = false;
#endif

/// Any number of bytes that are told from each other, without having them.
class Content {
  public:
    explicit Content(std::size_t size) : size_(size) {}

    [[nodiscard]] EnvdClient::Source source()
    {
        return [this](char* data, std::size_t size) {
            size = std::min(size, size_ - given_);
            for (std::size_t i = 0; i < size; ++i, ++given_) {
                data[i] = static_cast<char>(given_ * 31 + given_ / 251);
            }
            digest_.update(data, size);
            return size;
        };
    }

    /// Of what was given.
    [[nodiscard]] std::string hash() { return digest_.finish(); }

  private:
    std::size_t size_;
    std::size_t given_ = 0;
    Sha256 digest_;
};

void put(EnvdClient& client, const std::string& path, std::size_t size)
{
    Content content(size);
    client.upload(path, "", content.source(), in_time());
}

/// The most memory that this program had since the last time, in bytes.
std::size_t peak()
{
    std::size_t kilobytes = 0;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == "VmHWM:") {
            status >> kilobytes;
        }
    }
    std::ofstream("/proc/self/clear_refs") << 5;
    return kilobytes * 1024;
}

void on(Scene& scene, const std::string& method, json fault)
{
    fault["plane"] = "envd";
    fault["path"] = "/files";
    fault["method"] = method;
    scene.emulator.fault(fault);
}

std::string size_of(Scene& scene, const std::string& path)
{
    return run(scene.client, "stat -c %s " + path + " 2>/dev/null || echo none").out;
}

} // namespace

TEST_CASE("a large file goes up and comes down to the byte, in little memory")
{
    Scene scene;
    constexpr std::size_t size = 192 * megabyte;
    static_cast<void>(peak());
    const auto before = peak();
    Content content(size);
    scene.client.upload("/home/user/large", "", content.source(), in_time());
    const auto hash = content.hash();
    Sha256 digest;
    CHECK(scene.client.download(
              "large", "user", [&](std::string_view bytes) { digest.update(bytes); }, in_time()) ==
          size);
    CHECK(digest.finish() == hash);
    const auto after = peak();
    if (!has_sanitizer) { // which keep what was freed
        CHECK(after < before + 16 * megabyte);
    }
    CHECK(run(scene.client, "sha256sum <large").out == hash + "  -\n");
}

TEST_CASE("a file has the name, the owner and the content that it was given")
{
    Scene scene;
    const std::string name = "/tmp/a b/c+d&e=%2f/\xc3\xa4#?\n;x";
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{70'000},
                                   std::size_t{3}}) { // shorter than it was
        put(scene.client, name, size);
        std::string got;
        CHECK(scene.client.download(
                  name, "", [&](std::string_view bytes) { got += bytes; }, in_time()) == size);
        CHECK(got.size() == size);
    }
    if (::geteuid() == 0) {
        CHECK(run(scene.client, "stat -c %U /tmp/a\\ b/*/*").out == "user\n");
        Content content(1);
        scene.client.upload("/root/f", "root", content.source(), in_time());
        CHECK(run(scene.client, "cat /root/f").ended->exit_code == 1);
        std::string got;
        scene.client.download(
            "/root/f", "user", [&](std::string_view bytes) { got += bytes; }, in_time());
        CHECK(got.size() == 1); // envd is root, whoever asks
    }
}

TEST_CASE("a file that cannot be had is refused in words")
{
    Scene scene;
    const auto got = [&](const std::string& path, const std::string& user = {}) {
        return wrong_of([&] {
            scene.client.download(
                path, user, [](std::string_view) { FAIL_CHECK("something came"); }, in_time());
        });
    };
    CHECK(got("/no/such").kind == "status 404");
    CHECK(got("/no/such").code == ErrorCode::not_found);
    CHECK(got("/tmp").kind == "status 400");
    const auto stranger = got("/etc/passwd", "nobody-here");
    CHECK(stranger.kind == "status 401");
    CHECK(stranger.code == ErrorCode::invalid_argument);
    CHECK(got("/proc/self/status").kind == "nothing"); // empty: it has no size
    CHECK(wrong_of([&] { put(scene.client, "/tmp", 1); }).kind == "status 400");
}

TEST_CASE("a box without room says so in the middle of a file")
{
    Scene scene;
    scene.emulator.set({{"megabytes", 8}});
    const auto small = scene.create();
    auto client = scene.envd(small);
    const auto wrong = wrong_of([&] { put(client, "large", 32 * megabyte); });
    // Who reads the rest is heard; one who ends the connection is not, but it is no success.
    CHECK((wrong.code == ErrorCode::no_space || wrong.kind == "broken"));
    CHECK(run(client, "rm -f large; echo hi").out == "hi\n");
}

TEST_CASE("a refused transfer says why, however large it is, and moves nothing")
{
    Scene scene;
    put(scene.client, "f", 300'000);
    const std::array answers = {
        std::pair{json{{"status", 502}, {"body", "<html>502</html>"}},
                  ErrorCode::sandbox_unavailable},
        std::pair{json{{"status", 500}}, ErrorCode::backend_error},
        std::pair{json{{"status", 503}, {"body", ""}}, ErrorCode::sandbox_unavailable},
        std::pair{json{{"status", 429}}, ErrorCode::quota_exceeded},
        std::pair{json{{"status", 507}}, ErrorCode::no_space},
    };
    for (const auto& [fault, code] : answers) {
        CAPTURE(fault.dump());
        const auto kind = "status " + std::to_string(fault.at("status").get<int>());
        on(scene, "GET", fault);
        const auto down = wrong_of([&] {
            scene.client.download(
                "f", "", [](std::string_view) { FAIL_CHECK("something came"); }, in_time());
        });
        CHECK(down.kind == kind);
        CHECK(down.code == code);
        on(scene, "POST", fault);
        const auto up = wrong_of([&] { put(scene.client, "new", 5 * megabyte); });
        CHECK(up.kind == kind);
        CHECK(up.code == code);
        CHECK(size_of(scene, "new") == "none\n");
    }
}

TEST_CASE("half a file that comes down is never taken for a whole one")
{
    Scene scene;
    put(scene.client, "f", 300'000);
    for (const json& fault : std::initializer_list<json>{{{"cut", 0}},
                                                         {{"cut", 1}},
                                                         {{"cut", 299'999}},
                                                         {{"cut", 299'999}, {"reset", false}},
                                                         {{"cut", 70'000}, {"reset", false}},
                                                         {{"drop", true}},
                                                         {{"lose_reply", true}}}) {
        CAPTURE(fault.dump());
        on(scene, "GET", fault);
        std::size_t got = 0;
        const auto wrong = wrong_of([&] {
            scene.client.download(
                "f", "", [&](std::string_view bytes) { got += bytes.size(); }, in_time());
        });
        CHECK(wrong.kind == "broken");
        CHECK(got < 300'000);
        scene.client.download("f", "", [](std::string_view) {}, in_time());
    }
    auto hasty = scene.envd(scene.box, {.patience = 1s});
    on(scene, "GET", {{"silent", 1000}});
    CHECK(wrong_of([&] { hasty.download("f", "", [](std::string_view) {}, in_time()); }).kind ==
          "expired");
}

TEST_CASE("an upload that is cut says so, and is known for half a file")
{
    Scene scene;
    for (const json& fault : std::initializer_list<json>{{{"cut_request", 0}},
                                                         {{"cut_request", 1}},
                                                         {{"cut_request", 70'000}},
                                                         {{"cut_request", 2'999'999}},
                                                         {{"drop", true}},
                                                         {{"cut", 5}},
                                                         {{"cut", 5}, {"reset", false}},
                                                         {{"lose_reply", true}}}) {
        CAPTURE(fault.dump());
        static_cast<void>(run(scene.client, "rm -f f"));
        static_cast<void>(scene.emulator.take_counts());
        on(scene, "POST", fault);
        const auto wrong = wrong_of([&] { put(scene.client, "f", 3'000'000); });
        CHECK(wrong.kind == "broken");
        CHECK_FALSE(wrong.unsent);
        CHECK(scene.emulator.take_counts().at("envd POST /files") == 1);
        if (fault.contains("cut_request")) {
            const auto most = fault.at("cut_request").get<int>();
            CHECK(becomes_true([&] {
                const auto size = size_of(scene, "f");
                return (most == 0 && size == "none\n") || size == std::to_string(most) + '\n';
            }));
        } else if (fault.contains("drop")) {
            CHECK(size_of(scene, "f") == "none\n");
        } else {
            CHECK(becomes_true([&] { return size_of(scene, "f") == "3000000\n"; }));
        }
    }
}

TEST_CASE("a box that vanishes or sleeps under a transfer ends it, and is told as such by the next")
{
    for (const std::string then : {"vanish", "pause"}) {
        for (const bool up : {true, false}) {
            CAPTURE(then);
            CAPTURE(up);
            Scene scene;
            put(scene.client, "f", 40 * megabyte);
            std::size_t moved = 0;
            const auto move_some = [&](std::size_t size) {
                moved += size;
                if (moved >= megabyte && moved - size < megabyte) {
                    scene.emulator.act(scene.box.id, then);
                }
            };
            Content content(40 * megabyte);
            const auto wrong = wrong_of([&] {
                if (up) {
                    scene.client.upload(
                        "g", "",
                        [&, source = content.source()](char* data, std::size_t size) {
                            move_some(size);
                            return source(data, size);
                        },
                        in_time());
                } else {
                    scene.client.download(
                        "f", "", [&](std::string_view bytes) { move_some(bytes.size()); },
                        in_time());
                }
            });
            // 502 where the server is slow: what was sent then waited on the way to the box.
            CHECK((wrong.kind == "broken" || (up && wrong.kind == "status 502")));
            CHECK_FALSE(wrong.unsent);
            CHECK(wrong_of([&] { put(scene.client, "g", 5 * megabyte); }).kind == "status 502");
        }
    }
}

TEST_CASE("a guest's program that does not arrive as it is, or not at all, is never started")
{
    using berth::e2b::find_guest_program;
    using berth::e2b::guest_path;
    using berth::e2b::install_guest;
    Scene scene;
    // Changed on its way, so that what arrives is not what was told.
    auto program = find_guest_program("/bin/true");
    program.hash.front() = program.hash.front() == '0' ? '1' : '0';
    const auto changed = wrong_of([&] { install_guest(scene.client, program, {}, {}, in_time()); });
    CHECK(changed.code == ErrorCode::sandbox_unavailable);
    CHECK(changed.message.find("did not arrive") != std::string::npos);
    // Cut off: the configuration comes first.
    auto cut = find_guest_program("/bin/bash");
    scene.emulator.fault({{"plane", "envd"},
                          {"path", "/files"},
                          {"skip", 1},
                          {"cut_request", 100'000},
                          {"times", 0}});
    CHECK(wrong_of([&] { install_guest(scene.client, cut, {}, {}, in_time()); }).kind == "broken");
    scene.emulator.clear_faults();
    CHECK(run(scene.client, "[ -e " + guest_path(cut.hash) + " ] || echo none").out == "none\n");
    // What is there by its name is looked at again before it is used.
    const auto again = wrong_of([&] { install_guest(scene.client, program, {}, {}, in_time()); });
    CHECK(again.message == changed.message);
}
