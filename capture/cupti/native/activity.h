// Activity records: which kernels ended, when, and by which %gridid.
#pragma once

#include <string>

namespace btrace {

// startActivity makes CUPTI collect kernel records and a thread pass them on,
// every few milliseconds. It returns what went wrong, or nothing.
std::string startActivity();
// lastActivity passes on what there is, at the end of the process.
void lastActivity();
// forgetActivity is for a forked child, which does not have the thread.
void forgetActivity();

}  // namespace btrace
