"""Small vaults full of traps: each holds what is asked for, and much that only sounds like it.

A corpus is a dict of ids and texts. Nothing has a title, so that each memory is one statement.
"""

from __future__ import annotations

IDENTIFIERS = {
    "service": "FileSyncService retries three times before it gives up.",
    "user": "getUserByID returns null when the account was closed.",
    "snake": "snake_case_name is what the linter wants of a variable.",
    "service-test": "FileSyncServiceTest is flaky on Mondays.",
    "server": "FileSyncServer listens on the port that the firewall opens.",
    "in-step": "A service that keeps the files of two machines in step runs every night.",
    "slow": "Synchronising files is slow over the office VPN.",
    "moved": "The file service was moved to another host, and sync stopped for a day.",
    "by-name": "getUserByName is slower, since names have no index.",
    "by-ids": "getUsersByID takes a list and returns a map.",
    "badge": "To get a user, look the person up by the number on the badge.",
    "created": "A user gets an id when the account is created by hand.",
    "monty": "A snake was seen in the case by the door; its name is Monty.",
    "camel": "Names in camel case are for classes.",
    "plural": "snake_case_names are listed at the end of the style guide.",
}

SIGNED = {
    "c++": "We chose C++ for the parser of the log files that the office sends us every night.",
    "c#": "C# is what the Unity team writes.",
    "r&d": "R&D gets a budget of its own in spring, and nobody else does before the summer.",
    "w&b": "Runs are tracked in W&B since the old server is gone.",
    ".net": "The reports run on .NET 8 under Linux, on the machine below the stairs.",
    "vitamin": "Vitamin C.",
    "plan-c": "Plan C is a c in the plan.",
    "letters": "R, D, W and B are letters of the keyboard.",
    "open": "Plans R and D are open.",
    "income": "Net income: the net rose.",
    "budget": "We decided about the budget of the office.",
    "language": "Which language to choose was decided by the team.",
}

VERSIONS = {
    "1.4": "1.4 was the last release that ran on Python 2.",
    "1.4.2": "1.4.2 fixed the crash on start.",
    "14": "14 releases came out last year.",
    "1.40": "Release 1.40 renamed the settings.",
    "11.4": "Version 11.4 belongs to the other product.",
    "2.1.4": "2.1.4 is the version that the customer runs.",
    "4.1": "Release 4.1 dropped the old installer.",
    "one-four": "Of 4 releases, 1 was withdrawn.",
    "rc1": "v2.3.1-rc1 was tested by three customers.",
    "final": "v2.3.1 is the release that shipped.",
    "rc2": "v2.3.1-rc2 fixed the installer.",
    "rc10": "v2.3.1-rc10 never left the building.",
    "other-rc1": "v2.3.0-rc1 broke the build.",
    "candidates": "Release candidates are tested by customers for two weeks.",
    "download": "Which version to install is said on the download page.",
}

ERROR_CODES = {
    "e1234": "E1234 means that the printer has no paper.",
    "e1235": "E1235 means that the printer has no toner.",
    "e12340": "E12340 is an error of the scanner.",
    "invoice": "Invoice 1234 for the printer was an error.",
    "paper": "The printer says an error code when the paper is out.",
    "reset": "ERR_CONNECTION_RESET shows up when the proxy restarts.",
    "refused": "ERR_CONNECTION_REFUSED shows up when nothing listens.",
    "timeout": "ERR_CONNECTION_TIMED_OUT is the firewall.",
    "connection": "The connection was reset, an error that I get every morning.",
    "denied": "0x80070005 on Windows: run the installer as administrator.",
    "missing": "0x80070002 on Windows: a file is missing.",
    "memory": "0x8007000E on Windows: there is not enough memory.",
    "rights": "Access denied is a Windows error about rights.",
    "teapot": "HTTP 418 is what the coffee machine answers.",
    "not-found": "HTTP 404 is what the search page answers.",
    "often": "HTTP 500 was counted that night, 418 times in all.",
    "kitchen": "The teapot is in the kitchen, on the third shelf.",
}

FLAGS = {
    "no-cache": "--no-cache makes the docker image from nothing.",
    "cache": "--cache keeps the layers of a docker build.",
    "cache-dir": "--no-cache-dir is for pip and not for docker.",
    "header": "no-cache is a header of HTTP.",
    "cache-from": "--cache-from takes the layers of another docker build.",
    "none": "There is no cache on the machine that does the docker build.",
    "hour": "Building without what was kept from before takes an hour.",
    "no-color": "--no-color makes the log of the build readable.",
    "v": "-v prints what is done.",
    "verbose": "--verbose prints more than anyone reads.",
    "drive": "The letter of the shared drive is V, which prints on every label.",
    "fast": "A docker build is fast when its cache is warm.",
}

PATHS = {
    "main": "src/app/main.py starts the server.",
    "main-test": "src/app/main_test.py stops the server again.",
    "round": "src/main/app.py is the other way round.",
    "compiled": "src/app/main.pyc is not to be committed.",
    "source": "The main part of the app's source is what starts the server.",
    "hosts": "/etc/hosts has the name of the printer.",
    "hostname": "/etc/hostname has the name of the machine.",
    "allow": "/etc/hosts.allow is read by nobody.",
    "party": "The hosts of the party, the guests, the cook etc. are in the kitchen.",
    "windows": r"C:\Users\x has the settings of the old account.",
    "xavier": r"C:\Users\xavier has the settings of the new account.",
    "public": r"C:\Users\Public has what all users share.",
    "backup": r"D:\Users\x has the backup of the old account.",
    "users": "The users of drive C have accounts that begin with x.",
}

HASHES = {
    "short": "3f2a9c1 broke the login page.",
    "neighbour": "3f2a9c2 repaired the login page.",
    "longer": "3f2a9c1d is the serial number of the login terminal.",
    "digits": "1029384 was a commit, not a phone number.",
    "phone": "1029385 is the phone number of the desk.",
    "long": "9fceb02d0ae598e95dc970b74767f19372d61af8 is the commit that was signed.",
    "long-neighbour": "9fceb02d0ae598e95dc970b74767f19372d61af9 is a commit without a signature.",
    "reverted": "The commit that broke the login page was reverted.",
    "signed": "Every commit is to be signed.",
    "page": "The login page was broken for a day.",
    "bisect": "With bisect one finds the commit that broke something.",
    "colour": "The background of the login page is 3f2a9c.",
    "message": "A commit message says what broke and why.",
}

ADDRESSES = {
    "anna": "anna.smith@example.com pays the invoices.",
    "organisation": "anna.smith@example.org was her address at the university.",
    "joanna": "joanna.smith@example.com asks for the invoices.",
    "first-name": "anna@example.com belongs to another Anna.",
    "round": "smith.anna@example.com does not exist.",
    "hyphen": "anna-smith@example.com is the list of the choir.",
    "person": "Anna Smith pays the invoices when her mail works.",
    "domain": "example.com is the domain that Anna and Mr Smith use for every example.",
    "invoices": "Invoices are paid within thirty days.",
    "mail": "Mail about invoices goes to the desk.",
    "contact": "Who to contact: the person whose address is on the door.",
    "plus": "anna.smith+shop@example.com is for shops.",
}

DATES = {
    "ends": "The contract ends on 2026-03-01.",
    "next-day": "The contract starts on 2026-03-02.",
    "swapped": "The contract was signed on 2026-01-03.",
    "year-before": "The old contract ended on 2025-03-01.",
    "time": "The log of 2026-03-10 mentions the contract.",
    "spoken": "Contracts end in March, on the first.",
    "pages": "The contract of 2026 has 03 pages and 01 annex.",
    "renewal": "A contract ends unless somebody renews it.",
    "notice": "Give notice three months before a contract ends.",
    "lawyer": "The lawyer reads every contract on Mondays.",
    "signing": "Two people sign a contract.",
    "archive": "What ends is kept in the archive.",
    "that-day": "The lawyer asked when the contract ends.",  # saved on 2026-03-01
}

QUOTES = {
    "phrase": "We shipped the quick fix on Friday.",
    "scattered": "The team was quick to say who shipped a fix.",
    "backwards": "Fix the build first; quick is what we shipped.",
    "plural": "The quick fixes that we shipped are listed in the changelog.",
    "between": "The quick and dirty fix was never shipped.",
    "no-article": "A quick fix is what the customer asked for.",
    "slow": "We shipped the slow fix on Monday.",
    "fast": "The repair was done fast and shipped.",
    "fox": "The quick brown fox is in every sample of type.",
    "patch": "The patch was shipped within an hour.",
    "release": "Who shipped the release is in the log.",
    "fixed": "The leak was fixed by the plumber, and quick he was.",
}

NAMES = {
    "zephyr": "Zephyr is what we call the machine by the window.",
    "okonkwo": "Okonkwo keeps the keys of the archive.",
    "wind": "A gentle wind from the west came in by the window.",
    "breeze": "The breeze cools the machine room.",
    "printer": "The printer by the window is out of toner.",
    "said": "They said that the printer is too loud.",
    "about": "Anna told us about the printer, and said it is slow.",
    "machine": "The machine by the window is the oldest.",
    "call": "We call the machine room when it is too hot.",
    "keys": "The keys of the car are in the drawer.",
    "archive": "The archive is open on Tuesdays.",
    "locked": "The door of the archive is locked at night.",
    "chief": "The head of the archive has keys to every room.",
}

SCRIPTS = {
    "chinese": "数据库迁移失败后需要回滚",
    "japanese": "田中さんは緑茶が好きです",
    "korean": "백업은 매일 자정에 실행",
    "thai": "แอนนาชอบชาเขียว",
    "zh-tea": "安娜早上喜欢喝绿茶",
    "zh-key": "签名密钥每九十天轮换一次",
    "ja-deploy": "本番環境への配備は金曜日にしない",
    "ja-log": "ログファイルを毎晩削除する",
    "ko-tea": "민수는 아침에 녹차를 마신다",
    "ko-key": "서명 키는 석 달마다 교체한다",
    "th-server": "เซิร์ฟเวอร์หยุดทำงานเมื่อคืน",
    "th-key": "เปลี่ยนกุญแจทุกเก้าสิบวัน",
    "en-tea": "Anna likes green tea in the morning.",
    "en-backup": "The backup runs every night at twelve.",
}

ACCENTS = {
    "café": "Café Central opens at seven.",
    "plain-bar": "The bar at the corner sells coffee and opens at eight.",
    "straße": "Die Lange Straße ist gesperrt.",
    "road": "The long road is closed for repairs.",
    "naïve": "A naïve cache never forgets.",
    "simple": "A simple cache is good enough.",
    "istanbul": "İstanbul is where the team meets in June.",
    "turkey": "The team flies to Turkey for the meeting.",
    "résumé": "Her résumé is in the folder of applications.",
    "continue": "To continue, press any key.",
    "jalapeno": "The jalapeno sauce is too hot for Tom.",
    "zurich": "Zurich has the second data centre.",
    "strasbourg": "Strasbourg has a street map of its own.",
    "nation": "Native speakers check the text.",
}

SLIPS = {
    "retention": "Retention of logs is ninety days.",
    "kept": "Logs are kept on the second disk.",
    "deleted": "Old logs are deleted by a script.",
    "policy": "The policy on passwords is on the wall.",
    "kubernetes": "Kubernetes restarts the worker when it is out of memory.",
    "cluster": "The cluster has nine nodes and one orchestrator.",
    "worker": "A worker takes jobs from the queue.",
    "wall": "The wall behind the desk is blue.",
    "ball": "A ball was found on the roof.",
    "plumber": "The plumber comes on Thursday.",
    "typed": "The word anchro is misspelt in the old manual.",
    "anchor": "The anchor of the boat weighs ten kilos, and an anchor is what it needs.",
    "boat": "The boat is in the harbour until May.",
}
