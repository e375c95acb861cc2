#include "sandbox/base/base64.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/command_environment.hpp"
#include "sandbox/local/trust_files.hpp"
#include "tests/unit/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <string>

using namespace berth;

namespace {

std::string pem(const std::string& bytes)
{
    return "-----BEGIN CERTIFICATE-----\n" + base64_encode(bytes) + "\n-----END CERTIFICATE-----\n";
}

} // namespace

TEST_CASE("a sandbox trusts the session's authority beside those it would trust anyway")
{
    const berth::tests::TemporaryDirectory directory;
    const auto file = directory / "host.pem";
    std::ofstream(file) << "# a comment\n" + pem("one") +
                               "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n" +
                               pem("two");
    std::map<std::string, std::string> files;
    for (auto& [name, content] : local::trust_files(pem("own"), file)) {
        files.emplace(name, content);
    }
    CHECK(files.at(sandbox::own_authority_file) == pem("own"));
    CHECK(files.at(sandbox::all_authorities_file) ==
          pem("one") + pem("two") + pem("own")); // and not the key
    CHECK(files.at(sandbox::java_authorities_file) ==
          local::java_trust_store(pem("one") + pem("two") + pem("own")));
    CHECK(local::trust_files("", file).empty());
    CHECK_THROWS_WITH_AS((void)local::trust_files(pem("own"), directory / "none"),
                         doctest::Contains("SSL_CERT_FILE"), Error);
}

TEST_CASE("a key store of java's, to the byte")
{
    const std::string head("\xFE\xED\xFE\xED\0\0\0\x02\0\0\0\x02", 12);
    const std::string entry("\0\0\0\x02\0\x01", 6);
    const std::string time(8, '\0');
    const std::string kind("\0\x05X.509\0\0\0\x03", 11);
    CHECK(local::java_trust_store(
              pem("abc") + "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n" +
              pem("def")) == head + entry + "1" + time + kind + "abc" + entry + "2" + time + kind +
                                 "def" + std::string(20, '\0'));
    CHECK(local::java_trust_store("-----BEGIN CERTIFICATE-----\nYWJj").size() == 32);
}
