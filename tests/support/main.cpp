// SPDX-License-Identifier: BSL-1.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

namespace {

/// Ends the program with an error if the filters on its command line leave no case. Such a test could not
/// fail.
struct no_empty_run : doctest::IReporter {
  explicit no_empty_run(doctest::ContextOptions const& given) : options(given) {}
  void test_run_end(doctest::TestRunStats const& stats) override {
    if (stats.numTestCasesPassingFilters != 0 || options.count) return;
    std::fputs("no test case passes the filters; see --source-file and --test-case\n", stderr);
    std::exit(1);
  }

  void report_query(doctest::QueryData const&) override {}
  void test_run_start() override {}
  void test_case_start(doctest::TestCaseData const&) override {}
  void test_case_reenter(doctest::TestCaseData const&) override {}
  void test_case_end(doctest::CurrentTestCaseStats const&) override {}
  void test_case_exception(doctest::TestCaseException const&) override {}
  void subcase_start(doctest::SubcaseSignature const&) override {}
  void subcase_end() override {}
  void log_assert(doctest::AssertData const&) override {}
  void log_message(doctest::MessageData const&) override {}
  void test_case_skipped(doctest::TestCaseData const&) override {}

  doctest::ContextOptions const& options;
};
REGISTER_LISTENER("no_empty_run", 1, no_empty_run);

}  // namespace
