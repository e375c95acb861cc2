#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "server/http/token_file.hpp"
#include "tests/unit/becomes_true.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>

using namespace berth;               // NOLINT(google-build-using-namespace): the subject
using namespace berth::server::http; // NOLINT(google-build-using-namespace): the subject
using berth::tests::becomes_true;

namespace {

std::string token_entry(const std::string& name, const std::string& token,
                        const std::string& principal, const std::string& more = "")
{
    return "[tokens." + name + "]\nsha256 = \"" + sha256_hex(token) + "\"\nprincipal = \"" +
           principal + "\"\n" + more;
}

struct TokenBench {
    explicit TokenBench(const std::string& text) { write(text); }

    void write(const std::string& text, mode_t mode = 0600) const
    {
        std::ofstream(path) << text;
        REQUIRE(::chmod(path.c_str(), mode) == 0);
    }

    std::unique_ptr<TokenFile> open()
    {
        return std::make_unique<TokenFile>(
            path, accounts,
            [this](const Caller& caller) {
                checked.push_back(caller.principal);
                if (caller.principal == unwanted) {
                    throw Error(ErrorCode::invalid_argument, "no such profile", "");
                }
            },
            [this](const std::string& error) { told.push_back(error); },
            [this](const TokenFile::Callers& callers, const TokenFile::Callers& present) {
                for (const auto& caller : callers) {
                    gone.push_back(caller->principal + std::to_string(present.size()));
                }
            });
    }

    /// Why it is not taken; empty: it is.
    std::string refusal(const std::string& text, mode_t mode = 0600)
    {
        write(text, mode);
        try {
            (void)open();
        } catch (const Error& error) {
            CHECK(error.code() == ErrorCode::invalid_argument);
            return error.what() + ("\n" + error.hint());
        }
        return {};
    }

    berth::tests::TemporaryDirectory directory;
    std::string path = directory / "tokens.toml";
    std::shared_ptr<Accounts> accounts = std::make_shared<Accounts>();
    std::string unwanted = "unwanted"; ///< of whom check says so
    std::vector<std::string> checked;
    std::vector<std::string> told;
    std::vector<std::string> gone; ///< each with how many there are
};

bool says(const std::string& text, const std::string& part)
{
    CAPTURE(text);
    CAPTURE(part);
    const bool found = text.find(part) != std::string::npos;
    CHECK(found);
    return found;
}

} // namespace

TEST_CASE("a token is known by its hash, with what its entry says")
{
    TokenBench bench(token_entry("laptop", "t1", "alice",
                                 "calls = 7\nprofile = \"strict\"\nmax_sessions = 3\n") +
                     token_entry("phone", "t2", "alice") + token_entry("ci", "t3", "robot"));
    const auto file = bench.open();
    const auto laptop = file->find("t1");
    REQUIRE(laptop);
    CHECK(laptop->principal == "alice");
    CHECK(laptop->calls == 7);
    CHECK(laptop->settings.at("profile") == "strict");
    CHECK(laptop->settings.at("session.max_per_principal") == "3");
    CHECK(laptop->settings.size() == 2);
    CHECK(laptop->origin == bench.path + ", tokens.laptop");
    const auto phone = file->find("t2");
    const auto robot = file->find("t3");
    REQUIRE(phone);
    REQUIRE(robot);
    CHECK(phone->calls == Caller{}.calls);
    CHECK(phone->settings.empty());
    // What is counted is counted of a principal, whatever token it comes with.
    CHECK(laptop->account == phone->account);
    CHECK(laptop->account != robot->account);
    for (const auto& token : {std::string(), std::string("t"), std::string("t11"), sha256_hex("t1"),
                              std::string("T1")}) {
        CAPTURE(token);
        CHECK(file->find(token) == nullptr);
    }
    CHECK(bench.checked.size() == 3);
}

TEST_CASE("a file without tokens lets nobody in")
{
    TokenBench bench("# none yet\n");
    CHECK(bench.open()->find("") == nullptr);
}

TEST_CASE("a file to which others may write is refused, or they would let in whom they like")
{
    TokenBench bench("");
    const auto text = token_entry("a", "t1", "alice");
    CHECK(says(bench.refusal(text, 0620), "chmod go-w " + bench.path));
    CHECK(says(bench.refusal(text, 0602), "may be written to by others"));
    CHECK(bench.refusal(text, 0644).empty());
    std::filesystem::remove(bench.path);
    CHECK_THROWS_AS((void)bench.open(), Error);
}

TEST_CASE("an entry that is wrong is named with its line, and what is near to it")
{
    TokenBench bench("");
    const auto good = token_entry("a", "t1", "alice");
    const auto refused = [&](const std::string& text, const std::string& part) {
        const auto why = bench.refusal(text);
        return says(why, part) && says(why, bench.path);
    };
    CHECK(refused(good + "principle = \"x\"\n", "did you mean principal?"));
    CHECK(refused(good + "principle = \"x\"\n", bench.path + ":4"));
    CHECK(refused(good + "zzzzzzzzzzzzzz = \"x\"\n", "unknown key \"zzzzzzzzzzzzzz\""));
    CHECK(refused("[tokens.a]\nprincipal = \"x\"\n", "[tokens.a] has no sha256"));
    CHECK(refused("[tokens.a]\nsha256 = \"" + sha256_hex("x") + "\"\n",
                  "[tokens.a] has no principal"));
    CHECK(refused("[tokens.a]\n", "[tokens.a] has no sha256"));
    CHECK(refused(good + token_entry("b", "t1", "bob"), "has the token of another entry"));
    CHECK(refused("[tokens.a]\nsha256 = \"abc\"\nprincipal = \"x\"\n", "64 small hex digits"));
    CHECK(refused("[tokens.a]\nsha256 = \"" + std::string(64, 'A') + "\"\nprincipal = \"x\"\n",
                  "64 small hex digits"));
    CHECK(refused(token_entry("a", "t1", ""), "the principal is not"));
    CHECK(refused(token_entry("a", "t1", "a\\u001bb"), "the principal is not"));
    CHECK(refused(token_entry("a", "t1", std::string(257, 'x')), "the principal is not"));
    CHECK(bench.refusal(token_entry("a", "t1", std::string(256, 'x'))).empty());
    for (const auto* calls : {"0", "-1", "4097", "1.5", "\"many\""}) {
        CAPTURE(calls);
        CHECK(refused(good + "calls = " + calls + "\n", "calls is not a number from 1 to 4096"));
    }
    CHECK(bench.refusal(good + "calls = 4096\n").empty());
    CHECK(refused("network = \"none\"\n", "\"network\" is not of a token"));
    CHECK(refused("[tokens]\nsha256 = \"x\"\n", "is not of a token"));
    CHECK(refused("[tokens.a\n", bench.path));
    CHECK(says(bench.refusal(token_entry("a", "t1", "unwanted")), "no such profile"));
}

TEST_CASE("a file that has changed is read again, and what is wrong with it changes nothing")
{
    TokenBench bench(token_entry("a", "t1", "alice"));
    const auto file = bench.open();
    const auto before = file->find("t1");
    REQUIRE(before);
    bench.write(token_entry("a", "t2", "alice") + token_entry("b", "t3", "bob"));
    CHECK(becomes_true([&] { return file->find("t1") == nullptr; }));
    REQUIRE(file->find("t2"));
    CHECK(file->find("t2")->account == before->account);
    REQUIRE(file->find("t3"));
    CHECK(bench.told.back().empty());

    const auto told = bench.told.size();
    bench.write("[tokens.a]\nprincipal = 7\nsha256 = 7\n");
    CHECK(becomes_true([&] {
        CHECK(file->find("t2"));
        return bench.told.size() > told;
    }));
    CHECK(says(bench.told.back(), "sha256"));
    CHECK(file->find("t3"));

    const auto again = bench.told.size();
    bench.write(token_entry("a", "t9", "mallory"), 0666);
    CHECK(becomes_true([&] {
        CHECK(file->find("t9") == nullptr);
        return bench.told.size() > again;
    }));
    CHECK(says(bench.told.back(), "may be written to by others"));
    CHECK(file->find("t2"));
}

TEST_CASE("a file that was refused for something beside it is read again, and that is told once")
{
    TokenBench bench(token_entry("a", "t1", "alice"));
    const auto file = bench.open();
    bench.unwanted = "bob";
    bench.write(token_entry("b", "t2", "bob"));
    CHECK(becomes_true([&] { return file->find("t1") && !bench.told.empty(); }));
    CHECK(says(bench.told.back(), "no such profile"));
    const auto checks = bench.checked.size();
    CHECK(becomes_true([&] { return file->find("t1") && bench.checked.size() > checks; }));
    CHECK(bench.told.size() == 1);
    bench.unwanted.clear();
    CHECK(becomes_true([&] { return file->find("t2") != nullptr; }));
    CHECK(file->find("t1") == nullptr);
    CHECK(bench.told.size() == 2);
    CHECK(bench.told.back().empty());
}

TEST_CASE("nor is it read while it is being written anew")
{
    TokenBench bench(token_entry("a", "t1", "alice"));
    const auto file = bench.open();
    bench.write("[tokens.a]\nprincipal = 7\n");
    CHECK(becomes_true([&] { return file->find("t1") && !bench.told.empty(); }));
    bench.write("");
    for (int tries = 0; tries < 40; ++tries) {
        CHECK(file->find("t1"));
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    CHECK(bench.told.size() == 1);
}

TEST_CASE("a token that is taken out of the file is none, whatever is wrong with others by now")
{
    TokenBench bench(token_entry("a", "t1", "alice") + token_entry("b", "t2", "bob"));
    const auto file = bench.open();
    REQUIRE(file->find("t2"));
    bench.unwanted = "alice"; // whose profile has gone
    bench.write(token_entry("a", "t1", "alice"));
    CHECK(becomes_true([&] { return file->find("t2") == nullptr; }));
    CHECK(file->find("t1"));
    bench.write(token_entry("a", "t1", "alice", "profile = \"other\"\n"));
    CHECK(becomes_true([&] { return file->find("t1") && !bench.told.back().empty(); }));
    CHECK(says(bench.told.back(), "no such profile"));
    CHECK(file->find("t1")->settings.empty());
    bench.write("[tokens]\n"); // the last one, of whom the table's head is left
    CHECK(becomes_true([&] { return file->find("t1") == nullptr; }));
}

TEST_CASE("it is told whom no entry has any more, as he was")
{
    TokenBench bench(token_entry("a", "t1", "alice") + token_entry("b", "t2", "bob"));
    const auto file = bench.open();
    bench.write(token_entry("a", "t3", "alice") + // another token of the same
                token_entry("b", "t2", "bob", "calls = 3\n"));
    CHECK(becomes_true([&] { return file->find("t3") != nullptr; }));
    CHECK(bench.gone.empty());
    bench.write(token_entry("a", "t3", "alice", "profile = \"other\"\n"));
    CHECK(becomes_true([&] { return file->find("t2") == nullptr; }));
    CHECK(bench.gone == std::vector<std::string>{"alice1", "bob1"});
}

TEST_CASE("a file that is gone holds until it is there again")
{
    TokenBench bench(token_entry("a", "t1", "alice"));
    const auto file = bench.open();
    std::filesystem::remove(bench.path);
    CHECK(becomes_true([&] {
        CHECK(file->find("t1"));
        return !bench.told.empty() && !bench.told.back().empty();
    }));
    CHECK(says(bench.told.back(), "it is gone"));
    bench.write(token_entry("a", "t4", "alice"));
    CHECK(becomes_true([&] { return file->find("t4") != nullptr; }));
    CHECK(file->find("t1") == nullptr);
    CHECK(bench.told.back().empty());
}
