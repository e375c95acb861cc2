#include "sandbox/base/base64.hpp"
#include "tools/picture.hpp"
#include "tools/picture_advice.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using berth::base64_decode;
using berth::tools::picture_fault;
using berth::tools::picture_size;
using namespace std::string_literals;

namespace {

struct Sample {
    const char* type;
    const char* base64;
};

// One pixel each.
const Sample samples[] = {
    {"image/png",
     "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
     "gg=="},
    {"image/gif", "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"},
    {"image/webp", "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="},
};

std::string bytes(const Sample& sample)
{
    return base64_decode(sample.base64).value();
}

/// Without the tables that a decoder needs: what is looked at is in its place.
std::string jpeg(const std::string& height = "\x00\x02"s, const std::string& end = "\xff\xd9"s)
{
    return "\xff\xd8\xff\xe0\x00\x04JF"s + "\xff\xc0\x00\x0b\x08"s + height +
           "\x00\x01\x01\x01\x11\x00"s + "\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"s + "pixels" +
           end;
}

} // namespace

TEST_CASE("whole pictures have no fault, every part of one has")
{
    for (const auto& sample : samples) {
        const std::string whole = bytes(sample);
        CAPTURE(sample.type);
        CHECK(picture_fault(whole, sample.type) == "");
        for (std::size_t size = 0; size < whole.size(); ++size) {
            CAPTURE(size);
            CHECK(picture_fault(whole.substr(0, size), sample.type) != "");
        }
    }
    CHECK(picture_fault(jpeg(), "image/jpeg") == "");
    for (std::size_t size = 0; size < jpeg().size(); ++size) {
        CHECK(picture_fault(jpeg().substr(0, size), "image/jpeg") != "");
    }
    CHECK(picture_fault("", "image/tiff") != "");
}

TEST_CASE("a damaged byte of a PNG is found")
{
    std::string png = bytes(samples[0]);
    png[45] = static_cast<char>(png[45] ^ 1);
    CHECK(picture_fault(png, "image/png") == "it is damaged or cut off");
}

TEST_CASE("pictures without pixels, or with too many, are told")
{
    std::string gif = bytes(samples[1]);
    gif[6] = '\0';
    CHECK(picture_fault(gif, "image/gif") == "it has no pixels");
    CHECK(picture_fault(jpeg("\x00\x00"s), "image/jpeg") == "it has no pixels");
    CHECK(picture_fault(jpeg("\x1f\x41"s), "image/jpeg").starts_with("it has 1x8001 pixels"));
    CHECK(picture_fault(jpeg("\x1f\x40"s), "image/jpeg") == "");
    // The first size would be told, and the second be judged.
    const std::string one = jpeg("\xff\xff"s);
    CHECK(picture_fault(one.substr(0, one.find("\xff\xda"s)) + jpeg().substr(2), "image/jpeg") ==
          "it is damaged or cut off");
}

TEST_CASE("whatever the bytes of a picture are, none is read behind its end")
{
    unsigned seed = 1;
    for (const auto& sample : samples) {
        for (int round = 0; round < 2000; ++round) {
            std::string data = bytes(sample);
            for (int i = 0; i < 3; ++i) {
                seed = seed * 1'103'515'245U + 12'345U;
                data[(seed >> 16U) % data.size()] = static_cast<char>(seed >> 8U);
            }
            data.resize((seed >> 20U) % (data.size() + 1));
            CHECK_NOTHROW((void)picture_fault(data, sample.type));
        }
    }
}

TEST_CASE("the size of a picture is in its beginning")
{
    const auto size = [](std::string_view data, std::string_view type) {
        const auto found = picture_size(data, type);
        return found ? std::to_string(found->width) + "x" + std::to_string(found->height) : "none";
    };
    for (const auto& sample : samples) {
        CAPTURE(sample.type);
        const std::string whole = bytes(sample);
        CHECK(size(std::string_view(whole).substr(0, 30), sample.type) == "1x1");
        CHECK(size("", sample.type) == "none");
        CHECK(size(std::string_view(whole).substr(0, 7), sample.type) == "none");
    }
    CHECK(size(jpeg("\x01\x02"s, ""), "image/jpeg") == "1x258");
    const std::string preview =
        "\xff\xe1\xff\xff"s + std::string(65533, 'x'); // Exif with a picture
    std::string camera = jpeg();
    camera.insert(2, "\xff" + preview); // a byte of filling
    CHECK(size(camera, "image/jpeg") == "1x2");
    CHECK(size(std::string_view(camera).substr(0, 256), "image/jpeg") == "none");
    CHECK(size("\xff\xd8\xff\xe1"s + std::string(20, '\0'), "image/jpeg") == "none");
    CHECK(size(jpeg(), "image/tiff") == "none");
    CHECK(size("GIF89a\0\0\x01\0"s, "image/gif") == "none"); // no pixels
}

TEST_CASE("the command that makes a smaller copy takes the file's name as one word")
{
    using berth::tools::shrinking_command;
    CHECK(shrinking_command("magick", "/a/it's.png", "image/png") ==
          "magick '/a/it'\\''s.png' -resize '1568x1568>' /tmp/smaller.png");
    CHECK(shrinking_command("gm", "/a b", "image/jpeg") ==
          "gm convert '/a b' -resize '1568x1568>' /tmp/smaller.jpg");
    CHECK(shrinking_command("pillow", "/a", "image/png").starts_with("python3 -c '"));
    CHECK(shrinking_command("convert", "/a\nb", "image/png").starts_with("convert FILE "));
    CHECK(shrinking_command("", "/a", "image/png").empty());
    CHECK(shrinking_command("rm -rf /", "/a", "image/png").empty());
}
