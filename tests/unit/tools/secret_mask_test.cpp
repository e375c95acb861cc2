#include "sandbox/base/base64.hpp"
#include "tools/secret_mask.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using berth::tools::Secret;
using berth::tools::SecretMask;
using Secrets = std::vector<Secret>;

namespace {

const std::string value = "gh+p/A1b2?C3d4";

/// What is left of it with one secret, TOKEN.
std::string masked(const std::string& text, const std::string& secret = value)
{
    std::set<std::string> met;
    auto result = SecretMask(Secrets{{"TOKEN", secret}}).mask(text, met);
    CHECK(met.contains("TOKEN") == (result != text));
    return result;
}

} // namespace

TEST_CASE("a secret is masked as it is, in base64, in hexadecimal digits and in percent-encoding")
{
    CHECK(masked("a " + value + " b " + value + "\n") == "a [secret TOKEN] b [secret TOKEN]\n");
    for (const char* before : {"", "x", "xy", "user:", "Basic a:b:c"}) {
        for (const char* behind : {"", "1", "12", "123"}) {
            auto encoded = berth::base64_encode(before + value + behind);
            CAPTURE(encoded);
            auto result = masked("<" + encoded + ">");
            CHECK(result.find("[secret TOKEN]") != std::string::npos);
            // At most the characters are left whose bits are those of its neighbours too.
            CHECK(result.size() <= encoded.size() + 2 + std::string("[secret TOKEN]").size() - 16);
            for (auto& character : encoded) {
                character = character == '+' ? '-' : character == '/' ? '_' : character;
            }
            CHECK(masked(encoded) != encoded);
        }
    }
    CHECK(masked("x 67682b702f413162323f43336434 y") == "x [secret TOKEN] y");
    CHECK(masked("x 67682B702F413162323F43336434 y") == "x [secret TOKEN] y");
    CHECK(masked("?t=gh%2Bp%2FA1b2%3FC3d4&x=1") == "?t=[secret TOKEN]&x=1");
    CHECK(masked("?t=gh%2bp/A1b2%3FC3d%34") == "?t=[secret TOKEN]");
    CHECK(masked("p=two+words%26more", "two words&more") == "p=[secret TOKEN]");
    CHECK(masked("100% of gh%2Bp, 5 %") == "100% of gh%2Bp, 5 %");
}

TEST_CASE("line ends hide no secret")
{
    CHECK(masked("a gh+p/A1\nb2?C3\r\nd4 b") == "a [secret TOKEN] b");
    const std::string key = "-----BEGIN KEY-----\nMIIabcdefgh\nijklmnop\n-----END KEY-----";
    CHECK(masked("1\n" + key + "\n2", key) == "1\n[secret TOKEN]\n2");
    std::string wrapped = berth::base64_encode(key);
    wrapped.insert(20, "\n").insert(41, "\n");
    CHECK(masked(wrapped, key).starts_with("[secret TOKEN]"));
}

TEST_CASE("nor do numbers, paths and signs that berth puts in front of lines")
{
    const std::string key = "-----BEGIN KEY-----\nMIIabcdefgh\nijklmnop\n-----END KEY-----";
    CHECK(masked("7\tx\n8\t-----BEGIN KEY-----\n9\tMIIabcdefgh\n10\tijklmnop\n"
                 "11\t-----END KEY-----\n12\ty\n",
                 key) == "7\tx\n8\t[secret TOKEN]\n12\ty\n");
    CHECK(masked("-2\tgh+p/A1\n-1\tb2?C3d4\n") == "-2\t[secret TOKEN]\n");
    CHECK(masked("a/2024-01-02.log:5:gh+p/A1\na/2024-01-02.log-6-b2?C3d4\n") ==
          "a/2024-01-02.log:5:[secret TOKEN]\n");
    CHECK(masked("5:gh+p/A1\n6:b2?C3d4\n") == "5:[secret TOKEN]\n");
    CHECK(masked("--- f\n+++ f\n@@ -1,3 +1,3 @@\n gh+p/A1\n b2?C3d4\n-x\n+y\n") ==
          "--- f\n+++ f\n@@ -1,3 +1,3 @@\n [secret TOKEN]\n-x\n+y\n");
    CHECK(masked("7\tgh+p/A1\n9\tb2?C3d4\n") == "7\tgh+p/A1\n9\tb2?C3d4\n"); // a file's own
}

TEST_CASE("what a cut has left of a secret is masked")
{
    CHECK(masked("token: gh+p/A1b") == "token: [secret TOKEN]");
    CHECK(masked("A1b2?C3d4 is it") == "[secret TOKEN] is it");
    CHECK(masked("log\ngh+p/A1b\n[... 3 lines (1 KB) left out ...]\nb2?C3d4\nend") ==
          "log\n[secret TOKEN]\n[... 3 lines (1 KB) left out ...]\n[secret TOKEN]\nend");
    CHECK(masked("f:5:[cut] b2?C3d4 x gh+p/A1b [cut]\n") ==
          "f:5:[cut] [secret TOKEN] x [secret TOKEN] [cut]\n");
    CHECK(masked("it has `export X=gh+p/A1b…` there") == "it has `export X=[secret TOKEN]…` there");
    CHECK(masked("see `gh+p/A1b` there") == "see `gh+p/A1b` there"); // a file's own
    CHECK(masked("x gh+p/A1b…") == "x [secret TOKEN]…");
    CHECK(masked("gh+p/A1b in the middle") == "gh+p/A1b in the middle");
    CHECK(masked("at its end gh+p") == "at its end gh+p"); // it may be anything
    CHECK(masked("2026 gh+p/A1b2\n[info] b2?C3d4\n") == "2026 [secret TOKEN]\n[info] b2?C3d4\n");
}

TEST_CASE("a log with a bracket in every line, beside long secrets, is looked through in one go")
{
    // Each length of each form at each bracket would be tried for an hour.
    Secrets secrets;
    for (int i = 0; i < 16; ++i) {
        secrets.push_back(
            {"KEY" + std::to_string(i), std::string(20'000, 'k') + std::to_string(i)});
    }
    std::string log;
    for (int i = 0; i < 15'000; ++i) {
        log += "[]\n";
    }
    std::set<std::string> met;
    CHECK(SecretMask(secrets).mask(log, met) == log);
    CHECK(met.empty());
}

TEST_CASE("what is too short is not looked for, and each secret has its own name")
{
    CHECK(masked("true or short12", "short12") == "true or short12");
    CHECK(SecretMask(Secrets{{"A", "true"}}).empty());
    std::set<std::string> met;
    const SecretMask two(Secrets{{"A", "first-secret"}, {"B", "first-secret-longer"}});
    CHECK(two.mask("first-secret-longer first-secret", met) == "[secret B] [secret A]");
    CHECK(met == std::set<std::string>{"A", "B"});
}
