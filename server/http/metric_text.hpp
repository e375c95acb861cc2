#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace berth::server::http {

/// Writes Prometheus' text format, version 0.0.4.
class MetricText {
  public:
    static constexpr std::string_view type = "text/plain; version=0.0.4; charset=utf-8";

    using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

    /// Before its samples. `kind`: counter, gauge or histogram.
    void family(std::string_view name, std::string_view kind, std::string_view help);

    void sample(std::string_view name, const Labels& labels, std::uint64_t value);
    void sample(std::string_view name, const Labels& labels, double value);

    /// A family of one sample without labels.
    void gauge(std::string_view name, std::string_view help, std::uint64_t value);
    void gauge(std::string_view name, std::string_view help, double value);
    void counter(std::string_view name, std::string_view help, std::uint64_t value);

    [[nodiscard]] std::string take() { return std::move(text_); }

  private:
    void begin(std::string_view name, const Labels& labels);

    std::string text_;
};

/// The shortest form that is that number again.
[[nodiscard]] std::string metric_number(double value);

} // namespace berth::server::http
